
&
MyAdd_yabA4wXEdM4MyAdd_yabA4wXEdM4^
\
,
MyAdd_yabA4wXEdM4
x
y	
add_1
AddAddxAdd:z:0*
T0"
add_1^x"